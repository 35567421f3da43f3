-- Sliding window log in one string: what log.lua decides, in a small part of its
-- memory. Exact: no trailing window ever holds more than max.
--
-- KEYS     the identity's key; and, if it has another name, the key of that,
--          which is only read
-- ARGV     now_us|"", window_us, max, cost, nonce|"" (peek), ttl_floor_ms
-- Reply    {allowed, remaining, retry_after_us, reset_after_us, now_us}
-- The whole convention is in scripts.go.
--
-- An entry is the instant of an admitted unit without its upper bytes. All that have
-- these in common are of one epoch: one of 16.8 s with entries of 3 bytes, of 71
-- minutes with 4. The header tells the newest epoch, and how many entries are of
-- it and of each one before. Entries are a ring, oldest first, so a unit is written
-- where it belongs, and what left the window is passed over: nothing is swept.
--
--   form(1) depth(1) top(4) [first(w) last(w)] slots(c) oldest(c) used(c) * depth, entry(w) * slots
--
-- form is w plus 48, 64 or 96, for counts c of 1, 2 or 4 bytes. Only the longer two
-- tell the first and the last entry: small ones are read whole. depth is how many
-- epochs are told, used the entries of each. Numbers are big endian.
--
-- Most requests are for one unit, of an identity with one name, where at most one
-- entry has left since the last. They are decided here, in half the time of
-- log-packed-rest.lua, which belongs behind this file and decides all others. What
-- both compute is written out here, because a function takes time to make.

local byte, char, sub, floor, call = string.byte, string.char, string.sub, math.floor, redis.call
local unpack = table.unpack or unpack

local key = KEYS[1]
local window = tonumber(ARGV[2])
local max = tonumber(ARGV[3])
local cost = tonumber(ARGV[4])
local peek = ARGV[5] == ''

local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local most_epochs, least_slots = 16, 8
local start = call('GETRANGE', key, '0', '319') -- a header, and a hundred entries

local function ttl() return string.format('%.0f', math.max(math.ceil(window / 1000) + 1000, tonumber(ARGV[6]))) end

-- The last bytes of a number.
local function text(n, size)
  local d = n % 256
  if size == 1 then return char(d) end
  n = (n - d) / 256
  local c = n % 256
  if size == 2 then return char(c, d) end
  n = (n - c) / 256
  local b = n % 256
  if size == 3 then return char(b, c, d) end
  n = (n - b) / 256
  local a = n % 256
  local last = char(a, b, c, d)
  return size == 4 and last or text((n - a) / 256, size - 4) .. last
end

-- A header. numbers are those from slots on: epoch 0, the newest, has numbers[3]
-- entries. They are used up.
local function header_of(width, depth, top, first, last, numbers)
  local size = numbers[1] < 256 and 1 or numbers[1] < 65536 and 2 or 4
  local all = char(width + (size == 1 and 48 or size == 2 and 64 or 96), depth) .. text(top, 4)
  if size == 1 then return all .. char(unpack(numbers, 1, depth + 2)) end
  all = all .. text(first, width) .. text(last, width)
  for i = depth + 2, 1, -1 do -- in place, from behind: a new table would grow step by step
    local n = numbers[i]
    local low = n % 256
    if size == 2 then
      numbers[i + i - 1], numbers[i + i] = (n - low) / 256, low
    else
      numbers[i] = text(n, 4)
    end
  end
  return all .. (size == 2 and char(unpack(numbers, 1, depth + depth + 4)) or table.concat(numbers, '', 1, depth + 2))
end

repeat -- once; who breaks goes on with the rest
  if KEYS[2] or cost ~= 1 or peek then break end
  if start == '' and max > 0 then
    local width, range = 3, 16777216
    while window >= (most_epochs - 1) * range do width, range = width + 1, range * 256 end
    local depth, slots = floor(window / range) + 2, max < least_slots and max or least_slots
    local n = { slots, 0, 1 }
    for i = 4, depth + 2 do n[i] = 0 end
    local header = header_of(width, depth, floor(now / range), now, now, n)
    call('SET', key, header .. text(now, width) .. string.rep('\0', (slots - 1) * width), 'PX', ttl())
    return { 1, max - 1, 0, window, now }
  end
  local form, depth, t1, t2, t3, t4 = byte(start, 1, 6)
  if not t4 or form >= 96 then break end
  local long = form >= 64
  local width = form - (long and 64 or 48)
  local ends = long and 6 + 2 * width or 6
  local header = ends + (long and 2 or 1) * (2 + depth)
  if width ~= 3 and width ~= 4 or depth > most_epochs or #start < header + width then break end

  local n = { byte(start, ends + 1, header) }
  local count, eldest = 0, 3
  for i = 1, depth + 2 do
    if long then n[i] = n[i + i - 1] * 256 + n[i + i] end
    if i > 2 and n[i] > 0 then count, eldest = count + n[i], i end
  end
  local slots, oldest = n[1], n[2]
  if count < 1 or count > slots or oldest >= slots then break end
  local range = width == 3 and 16777216 or 4294967296
  local top = ((t1 * 256 + t2) * 256 + t3) * 256 + t4

  local function entry(at) -- as a number within its epoch
    local bytes = start
    if at + width > #start then
      bytes, at = call('GETRANGE', key, at, at + width - 1), 0
    end
    local a, b, c, d = byte(bytes, at + 1, at + 4)
    return width == 3 and (a * 256 + b) * 256 + c or ((a * 256 + b) * 256 + c) * 256 + d
  end
  local first = (top - eldest + 3) * range + entry(long and 6 or header + oldest * width)
  local last = top * range + entry(long and 6 + width or header + (oldest + count - 1) % slots * width)
  if now < last then break end

  if first <= now - window then -- it has left
    if count == 1 then break end
    count, oldest, n[eldest] = count - 1, (oldest + 1) % slots, n[eldest] - 1
    while n[eldest] == 0 do eldest = eldest - 1 end
    first = (top - eldest + 3) * range + entry(header + oldest * width)
    if first <= now - window then break end
  end

  if count >= max then
    if count > max then break end
    if call('PTTL', key) == -1 then call('PEXPIRE', key, ttl()) end
    return { 0, 0, first + window - now, last + window - now, now }
  end

  local epoch = floor(now / range)
  local newer = epoch - top
  local grows = count == slots and slots < 170 and #start < 320 -- all of it is here, and counts stay bytes
  if grows then
    slots = math.min(max, math.ceil(count * 1.5))
    local ring = sub(start, header + oldest * width + 1) .. sub(start, header + 1, header + oldest * width)
    start = sub(start, 1, header) .. ring .. string.rep('\0', (slots - count) * width)
    oldest = 0
  end
  if count == slots or count * 4 + 4 <= slots and slots > least_slots or epoch - floor(first / range) >= depth then break end
  if newer > 0 then
    for i = depth + 2, 3, -1 do n[i] = i - newer > 2 and n[i - newer] or 0 end
  end
  local same = newer == 0 and oldest == n[2] and slots == n[1] and not long -- all but one count
  n[1], n[2], n[3] = slots, oldest, n[3] + 1
  local at, unit = header + (oldest + count) % slots * width, text(now, width)
  local changed = same and char(n[3]) or header_of(width, depth, epoch, first, now, n)
  if grows or #start <= 64 then -- to write a little anew costs less than three calls
    if same then changed = sub(start, 1, 8) .. changed .. sub(start, 10, header) end
    call('SET', key, changed .. sub(start, header + 1, at) .. unit .. sub(start, at + width + 1), 'PX', ttl())
  else
    call('SETRANGE', key, at, unit)
    call('SETRANGE', key, same and '8' or '0', changed)
    call('PEXPIRE', key, ttl())
  end
  return { 1, max - count - 1, 0, window, now }
until true
