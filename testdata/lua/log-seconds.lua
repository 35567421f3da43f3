-- A log whose scores are seconds with decimals, as of a language whose clock is
-- a float.
local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

-- The difference of two doubles is off by a fraction of a microsecond. Six
-- decimals round that away; tostring would keep four.
local gone = string.format('%.6f', now - window)
local live = redis.call('ZCOUNT', KEYS[1], '(' .. gone, '+inf')
local ttl = math.ceil(window) + 1
if live >= limit then
  if redis.call('TTL', KEYS[1]) == -1 then -- it was lost
    redis.call('EXPIRE', KEYS[1], ttl)
  end
  return { 0, 0 }
end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', gone)
redis.call('EXPIRE', KEYS[1], ttl)
return { 1, limit - live - 1 }
