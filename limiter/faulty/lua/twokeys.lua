-- Fixed window in two keys, which are in two slots of Redis Cluster.
--
-- KEYS[1]  holds the window index
-- KEYS[2]  holds what was used in it
-- ARGV and reply are those of the bundled scripts.

local window = tonumber(ARGV[2])
local max = tonumber(ARGV[3])
local cost = tonumber(ARGV[4])
local peek = ARGV[5] == ''

local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local index = math.floor(now / window)
local used = 0
local stored_index = tonumber(redis.call('GET', KEYS[1]) or '-1')
if stored_index >= index then
  index = stored_index
  used = tonumber(redis.call('GET', KEYS[2]) or '0')
end

local window_end = (index + 1) * window
local ttl = math.ceil((window_end - math.max(now, index * window)) / 1000) + 1000
ttl = string.format('%.0f', math.max(ttl, tonumber(ARGV[6])))

local allowed = used + cost <= max
if allowed then
  used = used + cost
  if not peek then
    redis.call('SET', KEYS[1], string.format('%.0f', index), 'PX', ttl)
    redis.call('SET', KEYS[2], string.format('%.0f', used), 'PX', ttl)
  end
elseif not peek then
  for _, key in ipairs(KEYS) do
    if redis.call('PTTL', key) == -1 then
      redis.call('PEXPIRE', key, ttl)
    end
  end
end

local retry_after = 0
if cost > max then
  retry_after = -1
elseif not allowed then
  retry_after = window_end - now
end

local reset_after = 0
if used > 0 then
  reset_after = window_end - now
end

return { allowed and 1 or 0, math.max(max - used, 0), retry_after, reset_after, now }
