-- Sliding window of ten sub-buckets: a trailing window touches eleven of them,
-- and this counts ten, so what is in the oldest is forgotten too early.
--
-- KEYS[1]  the identity's key, a hash: sub-bucket index -> units admitted in it
-- ARGV and reply are those of the bundled scripts.

local key = KEYS[1]
local window = tonumber(ARGV[2])
local max = tonumber(ARGV[3])
local cost = tonumber(ARGV[4])
local peek = ARGV[5] == ''

local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local width = math.floor(window / 10)
local index = math.floor(now / width)
local counts, indexes = {}, {}
local stored = redis.call('HGETALL', key)
for i = 1, #stored, 2 do
  local at = tonumber(stored[i])
  indexes[#indexes + 1] = at
  counts[at] = tonumber(stored[i + 1])
  -- A caller whose clock is behind counts in the newest sub-bucket.
  index = math.max(index, at)
end
table.sort(indexes)

local used = 0
for _, at in ipairs(indexes) do
  if at > index - 10 then
    used = used + counts[at]
  end
end

local ttl = math.ceil(window / 1000) + 1000
ttl = string.format('%.0f', math.max(ttl, tonumber(ARGV[6])))

local newest = indexes[#indexes]
local allowed = used + cost <= max
if allowed then
  used = used + cost
  newest = index
  if not peek then
    redis.call('HINCRBY', key, string.format('%.0f', index), string.format('%.0f', cost))
    for _, at in ipairs(indexes) do
      if at <= index - 10 then
        redis.call('HDEL', key, string.format('%.0f', at))
      end
    end
    redis.call('PEXPIRE', key, ttl)
  end
elseif not peek and redis.call('PTTL', key) == -1 then
  redis.call('PEXPIRE', key, ttl)
end

local retry_after = 0
if cost > max then
  retry_after = -1
elseif not allowed then
  -- The sub-bucket with which enough has left.
  local over = used + cost - max
  for _, at in ipairs(indexes) do
    if at > index - 10 and over > 0 then
      over = over - counts[at]
      retry_after = (at + 10) * width - now
    end
  end
end

local reset_after = 0
if used > 0 then
  reset_after = (newest + 10) * width - now
end

return { allowed and 1 or 0, math.max(max - used, 0), retry_after, reset_after, now }
