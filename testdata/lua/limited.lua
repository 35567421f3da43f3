-- rlbench:
-- version: 1
-- description: a fixed window whose first number is 1 when the request is limited
-- model: fixed
-- keys: ["throttle:{{id}}"]
-- args: [limit, now_us, window_us]
-- reply: {denied: 1, limit: 2, remaining: 3, retry_after_s: 4, reset_after_s: 5}

-- One hash holds the window's number and its count. Waits are whole seconds,
-- rounded up; an admitted request has -1 instead of one.
local limit, now, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local index = math.floor(now / window)
local state = redis.call('HMGET', KEYS[1], 'window', 'used')
local used = 0
if tonumber(state[1] or '-1') >= index then
  -- Whoever is behind counts in the newest window, or it would be forgotten.
  index, used = tonumber(state[1]), tonumber(state[2])
end

local wait = math.ceil(((index + 1) * window - now) / 1000000)
if used >= limit then
  if redis.call('TTL', KEYS[1]) == -1 then -- it was lost
    redis.call('EXPIRE', KEYS[1], wait + 1)
  end
  return { 1, limit, 0, limit > 0 and wait or -1, used > 0 and wait or 0 }
end
redis.call('HSET', KEYS[1], 'window', string.format('%.0f', index), 'used', used + 1)
redis.call('EXPIRE', KEYS[1], wait + 1)
return { 0, limit, limit - used - 1, -1, wait }
