--[[ rlbench:
version: 1
description: two windows of which the previous one fades, told by 1 and 0
model: counter
keys: ["rl:{{id}}:{window_index}", "rl:{{id}}:{window_index-1}"]
args: [limit, elapsed_us, window_us, ttl_ms]
reply: {allowed: self}
]]

-- KEYS[1] counts this window, KEYS[2] the one before. A trailing window still
-- sees the part of the latter that has not passed.
local current = tonumber(redis.call('GET', KEYS[1]) or '0')
local previous = tonumber(redis.call('GET', KEYS[2]) or '0')
local limit, elapsed, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local seen = math.floor(previous * (window - elapsed) / window)
if current + seen >= limit then
  return 0
end
if redis.call('INCR', KEYS[1]) == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
return 1
