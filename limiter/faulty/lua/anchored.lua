-- Fixed window that begins with the first request, and not with the clock.
--
-- KEYS[1]  the identity's key, holding "<start in us> <used>"
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

local start, used = now, 0
local value = redis.call('GET', key)
if value then
  local stored_start, stored_used = string.match(value, '^(%d+) (%d+)$')
  if now < tonumber(stored_start) + window then
    start = tonumber(stored_start)
    used = tonumber(stored_used)
  end
end

local allowed = used + cost <= max
if allowed then
  used = used + cost
end

local window_end = start + window
local ttl = math.ceil((window_end - math.max(now, start)) / 1000) + 1000
ttl = string.format('%.0f', math.max(ttl, tonumber(ARGV[6])))
if allowed and not peek then
  redis.call('SET', key, string.format('%.0f %.0f', start, used), 'PX', ttl)
elseif not peek and redis.call('PTTL', key) == -1 then
  redis.call('PEXPIRE', key, ttl)
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
