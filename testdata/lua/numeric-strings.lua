-- rlbench:
-- version: 1
-- description: a log that answers in text, because Redis cuts fractions off numbers
-- model: log
-- args: [now_us, window_us, limit, member]
-- reply: {allowed: 1, remaining: 2, retry_after_s: 3}

local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local gone = string.format('%.0f', now - window)
local live = redis.call('ZCOUNT', KEYS[1], '(' .. gone, '+inf')
local ttl = math.ceil(window / 1000) + 1000
if live >= limit then
  if redis.call('PTTL', KEYS[1]) == -1 then -- it was lost
    redis.call('PEXPIRE', KEYS[1], ttl)
  end
  if limit == 0 then
    return { '0', '0', '-1' }
  end
  local first = redis.call('ZRANGE', KEYS[1], -limit, -limit, 'WITHSCORES')[2]
  local wait = tonumber(first) + window - now
  return { '0', '0', string.format('%d.%06d', math.floor(wait / 1000000), wait % 1000000) }
end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', gone)
redis.call('PEXPIRE', KEYS[1], ttl)
return { '1', string.format('%d', limit - live - 1), '0' }
