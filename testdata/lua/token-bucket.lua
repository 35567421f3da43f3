-- rlbench:
-- version: 1
-- description: a hash of tokens that come back at a steady pace
-- keys: ["bucket:{id}"]
-- args: [limit, rate_per_s, now_ms, ttl_ms]
-- reply: {allowed: 1, remaining: 2}

-- It claims no model: tokens are floats, and milliseconds are cut.
local capacity, rate, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(state[1] or capacity), tonumber(state[2] or now)

tokens = math.min(capacity, tokens + math.max(now - at, 0) / 1000 * rate)
if tokens < 1 then
  if redis.call('PTTL', KEYS[1]) == -1 then -- it was lost
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
  end
  return { 0, 0 }
end
tokens = tokens - 1
redis.call('HSET', KEYS[1], 'tokens', string.format('%.17g', tokens), 'at', string.format('%.0f', math.max(now, at)))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { 1, math.floor(tokens) }
