-- rlbench:
-- description: an exact log that is called and answers as scripts without a mapping do
-- model: log

-- KEYS[1]  of one identity: a sorted set, one member for each admitted request
-- ARGV     now_us, window_us, limit, member
-- Reply    {allowed, remaining, retry_after_us, reset_after_us}
local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

-- Instants have 16 digits and Lua prints 14, so they are written in full.
local gone = string.format('%.0f', now - window)
local live = redis.call('ZCOUNT', KEYS[1], '(' .. gone, '+inf')

local function stamp_from_newest(place)
  return tonumber(redis.call('ZRANGE', KEYS[1], -place, -place, 'WITHSCORES')[2])
end

-- What came last is remembered for a window.
local ttl = math.ceil(window / 1000) + 1000
if live >= limit then
  if redis.call('PTTL', KEYS[1]) == -1 then -- it was lost
    redis.call('PEXPIRE', KEYS[1], ttl)
  end
  local retry, reset = -1, 0
  if limit > 0 then
    retry = stamp_from_newest(limit) + window - now
    reset = stamp_from_newest(1) + window - now
  end
  return { 0, 0, retry, reset }
end

redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', gone)
redis.call('PEXPIRE', KEYS[1], ttl)
return { 1, limit - live - 1, 0, stamp_from_newest(1) + window - now }
