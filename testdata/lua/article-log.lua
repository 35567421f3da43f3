-- rlbench:
-- version: 1
-- description: a log by the caller's clock; whoever is ahead forgets for all
-- model: log
-- keys: ["rl:log:{id}"]
-- args: [now_us, window_us, limit, member]
-- reply: {allowed: 1, remaining: 2}

local set, now, window, limit = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', set, 0, string.format('%.0f', now - window))
local held = redis.call('ZCARD', set)
local allowed, remaining = 0, 0
if held < limit then
  redis.call('ZADD', set, ARGV[1], ARGV[4])
  allowed, remaining = 1, limit - held - 1
end
-- Denials too put off the end of the key.
redis.call('PEXPIRE', set, math.ceil(window / 1000))
return { allowed, remaining }
