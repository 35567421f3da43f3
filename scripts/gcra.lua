-- Generic cell rate algorithm: a bucket of max units that refills evenly, max in
-- a window. Constant memory, one string. A burst and what refills meanwhile make
-- up to 2 x max - 1 in a trailing window.
--
-- The bucket is kept as the instant at which it is full again, the theoretical
-- arrival time (tat): a unit costs window/max microseconds of it, so fractions
-- are counted in parts of 1/max microsecond.
--
-- KEYS     the identity's key, holding "<tat in whole us> <parts> <max>"; and, if
--          it has another name, the key of that, which is only read
-- ARGV     now_us|"", window_us, max, cost, nonce|"" (peek), ttl_floor_ms
-- Reply    {allowed, remaining, retry_after_us, reset_after_us, now_us}
-- The whole convention is in scripts.go.

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

-- ceil(parts * max / old) in two steps: the product can pass 2^53, each step is
-- below 2^48.
local function rescaled(parts, old)
  local high = math.floor(max / 65536)
  local whole = math.floor(parts * high / old)
  local rest = (parts * high - whole * old) * 65536 + parts * (max - high * 65536)
  return whole * 65536 + math.ceil(rest / old)
end

-- Of two names, the one that was used last has seen the use of the other.
local tat, parts = 0, 0
for name = 1, #KEYS do
  local value = redis.call('GET', KEYS[name])
  if value then
    local t, p, m = string.match(value, '^(%d+) (%d+) ([1-9]%d*)$')
    if not t then
      return redis.error_reply('ERR the key holds no generic cell rate')
    end
    t, p, m = tonumber(t), tonumber(p), tonumber(m)
    -- A changed max keeps the time that is owed; all of the new parts are a whole
    -- microsecond, and work as one. A max of 0 has none.
    if m ~= max and max > 0 then
      p = rescaled(p, m)
    end
    if t > tat or t == tat and p > parts then
      tat, parts = t, p
    end
  end
end

-- The backlog: what is missing to a full bucket takes that long to come back.
local ahead = tat - now
if ahead < 0 then
  ahead, parts = 0, 0
end

-- What fits, in parts. A late stamp can be further behind than a window: then it
-- is below 0, and only the sign counts of a product that may pass 2^53.
local room = (window - ahead) * max - parts

local allowed = cost <= max and cost * window <= room
local retry_after = 0
if allowed and cost == 0 then
  retry_after = 0 -- a look at what there is
elseif allowed then
  local used = parts + cost * window
  local whole = math.floor(used / max)
  ahead, parts, room = ahead + whole, used - whole * max, room - cost * window
elseif cost > max then
  retry_after = -1
else
  -- Until backlog + cost is one window.
  retry_after = ahead + math.ceil((parts - (max - cost) * window) / max)
end

local reset_after = ahead
if parts > 0 then
  reset_after = ahead + 1
end

local ttl = math.ceil(math.min(reset_after, window) / 1000) + 1000
ttl = string.format('%.0f', math.max(ttl, tonumber(ARGV[6])))
if allowed and not peek then
  redis.call('SET', key, string.format('%.0f %.0f %.0f', now + ahead, parts, max), 'PX', ttl)
elseif not peek and redis.call('PTTL', key) == -1 then
  redis.call('PEXPIRE', key, ttl)
end

return { allowed and 1 or 0, math.max(math.floor(room / window), 0), retry_after, reset_after, now }
