-- rlbench:
-- version: 1
-- description: two counts by the caller's clock; whoever is behind does not look ahead
-- model: counter
-- keys: ["rl:cnt:{id}:{window_index}", "rl:cnt:{id}:{window_index-1}"]
-- args: [limit, elapsed_us, window_us, window_s]
-- reply: {allowed: 1, remaining: 2}

-- The keys have no hash tag: Redis Cluster would refuse them. The share of the
-- previous window is computed from whole microseconds, so it is exact.
local function count(key)
  return tonumber(redis.call('GET', key) or '0')
end

local limit, elapsed, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local estimate = count(KEYS[1]) + math.floor(count(KEYS[2]) * (window - elapsed) / window)
if estimate >= limit then
  return { 0, 0 }
end
if redis.call('INCR', KEYS[1]) == 1 then
  -- As the previous window it is needed once more.
  redis.call('EXPIRE', KEYS[1], 2 * tonumber(ARGV[4]))
end
return { 1, limit - estimate - 1 }
