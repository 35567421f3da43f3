-- What log-packed.lua leaves to be decided: several units, two names, peeks, stamps
-- from the past, rings that move. It follows that file in one script, and goes on
-- where it stops; the format is described there.

-- Whether a ring is right for so many entries: large enough, and not mostly empty.
local function fits(count, slots) return count <= slots and (count * 4 > slots or slots <= least_slots) end

-- How many epochs a window and the one that is under way touch.
local function depth_of(width) return floor(window / 256 ^ width) + 2 end

-- A key as it is. Places count from 0, the oldest stored entry. numbers are those
-- of the header from slots on: epoch 0, the newest, has numbers[3] entries.
local function opened(key, bytes)
  local form, depth, a, b, c, d = byte(bytes, 1, 6)
  if not form then
    return { key = key, count = 0 }
  end
  local size = form >= 96 and 4 or form >= 64 and 2 or 1
  local width = form - (size == 4 and 96 or size == 2 and 64 or 48)
  local ends = size > 1 and 6 + 2 * width or 6
  local header = ends + size * (2 + (depth or 0))
  if width < 3 or width > 7 or not depth or depth > most_epochs or #bytes < header + width then
    return nil
  end
  local numbers = { byte(bytes, ends + 1, header) }
  local count = 0
  for i = 1, depth + 2 do
    local n = numbers[i]
    if size == 2 then
      n = numbers[i + i - 1] * 256 + numbers[i + i]
    elseif size == 4 then
      local j = 4 * i
      n = ((numbers[j - 3] * 256 + numbers[j - 2]) * 256 + numbers[j - 1]) * 256 + numbers[j]
    end
    numbers[i] = n
    count = count + n
  end
  local slots, oldest = numbers[1], numbers[2]
  count = count - slots - oldest
  if count < 1 or count > slots or oldest >= slots then
    return nil
  end
  return {
    key = key, bytes = bytes, width = width, range = 256 ^ width, depth = depth, header = header, numbers = numbers,
    top = ((a * 256 + b) * 256 + c) * 256 + d, slots = slots, oldest = oldest, count = count, ends = size > 1,
  }
end

-- The bytes of so many entries from a place on.
local function entries(s, place, count)
  if count <= 0 then
    return ''
  end
  local slot = (s.oldest + place) % s.slots
  local straight = math.min(count, s.slots - slot)
  local from = s.header + slot * s.width
  local bytes = call('GETRANGE', s.key, from, from + straight * s.width - 1)
  if straight < count then
    bytes = bytes .. call('GETRANGE', s.key, s.header, s.header + (count - straight) * s.width - 1)
  end
  return bytes
end

-- One entry: its instant within its epoch.
local function entry_at(s, place)
  local width, bytes = s.width, s.bytes
  local from = s.header + (s.oldest + place) % s.slots * width
  if s.ends and place == 0 then
    from = 6
  elseif s.ends and place == s.count - 1 then
    from = 6 + width
  elseif from + width > #bytes then
    bytes, from = call('GETRANGE', s.key, from, from + width - 1), 0
  end
  local a, b, c, d = byte(bytes, from + 1, from + 4)
  local n = (a * 256 + b) * 256 + c
  for i = 4, width do
    n = n * 256 + byte(bytes, from + i)
  end
  return n
end

-- First place of an epoch, and the one behind its last.
local function bounds(s, epoch)
  local behind = s.count
  for i = 3, epoch + 2 do
    behind = behind - s.numbers[i]
  end
  return behind - s.numbers[epoch + 3], behind
end

local function epoch_of(s, place)
  local epoch, first = 0, s.count - s.numbers[3]
  while place < first do
    epoch = epoch + 1
    first = first - s.numbers[epoch + 3]
  end
  return s.top - epoch
end

local function time_at(s, place)
  return epoch_of(s, place) * s.range + entry_at(s, place)
end

-- First place whose entry is later than an instant, and that entry if it has been
-- seen. In its epoch, steps double, because it is near the first of it more often
-- than not.
local function after(s, instant)
  local rest = instant % s.range
  local epoch = s.top - (instant - rest) / s.range
  if epoch < 0 then
    return s.count
  elseif epoch >= s.depth then
    return 0
  end
  local low, high = bounds(s, epoch)
  local probe, step, seen = low, 1, nil
  while low < high do
    local entry = entry_at(s, probe)
    if entry > rest then
      high, step, seen = probe, nil, entry
    else
      low = probe + 1
    end
    probe = floor((low + high) / 2)
    if step then
      probe, step = math.min(probe, low + step - 1), step * 2
    end
  end
  return low, seen
end

-- Entries exactly one window old have left. Those of a caller whose clock is ahead
-- count too.
local held = {}
local live, newest = 0, 0
for name = 1, #KEYS do
  local s = opened(KEYS[name], name == 1 and start or call('GETRANGE', KEYS[name], '0', '319'))
  if not s then
    return redis.error_reply('ERR the key holds no packed sliding window log')
  end
  s.live = 0
  if s.count > 0 then
    local seen
    s.gone, seen = after(s, now - window)
    s.live = s.count - s.gone
    if s.live > 0 then
      s.newest = s.top * s.range + entry_at(s, s.count - 1)
      s.oldest_live = epoch_of(s, s.gone) * s.range + (seen or entry_at(s, s.gone))
      newest = math.max(newest, s.newest)
    end
  end
  live = live + s.live
  held[name] = s
end
local own, also = held[1], held[2]

-- string.rep takes a step for each byte, this one for each doubling.
local function times(one, n)
  local all = one
  while #all < #one * n do all = all .. all end
  return sub(all, 1, #one * n)
end

-- Admit cost units at now, where the string has room for them: what changes is
-- written in place. Reports whether it has.
local function charge_in_place()
  local width, depth, slots, numbers, place = own.width, own.depth, own.slots, own.numbers, own.count
  local count = own.live + cost
  if not fits(count, slots) then
    return false
  end
  local entry = now % own.range
  local epoch = (now - entry) / own.range
  local first, last = own.oldest_live, own.newest
  local top = own.top
  if now >= last then
    top, last = epoch, now
  else
    -- A stamp from the past goes between those that are there.
    place = after(own, now)
    if now < first then first = now end
  end
  if top - floor(first / own.range) >= depth then
    return false
  end

  local units = times(text(entry, width), cost)
  if place < own.count then
    units = units .. entries(own, place, own.count - place)
  end
  local slot = (own.oldest + place) % slots
  local straight = (slots - slot) * width
  if #units <= straight then
    call('SETRANGE', own.key, own.header + slot * width, units)
  else
    call('SETRANGE', own.key, own.header + slot * width, sub(units, 1, straight))
    call('SETRANGE', own.key, own.header, sub(units, straight + 1))
  end

  numbers[2] = (own.oldest + own.gone) % slots
  local gone, newer = own.gone, top - own.top
  for i = depth + 2, 3, -1 do
    local leave = numbers[i] < gone and numbers[i] or gone
    numbers[i], gone = numbers[i] - leave, gone - leave
  end
  for i = depth + 2, newer > 0 and 3 or depth + 3, -1 do
    numbers[i] = i - newer > 2 and numbers[i - newer] or 0
  end
  local at = top - epoch + 3
  numbers[at] = numbers[at] + cost
  call('SETRANGE', own.key, '0', header_of(width, depth, top, first, last, numbers))
  call('PEXPIRE', own.key, ttl())
  return true
end

-- The same by writing all anew: what is live, with room for half as much again.
local function charge_anew()
  local width = 3
  while depth_of(width) > most_epochs do width = width + 1 end
  local first, last, place = now, now, own.count
  if own.live > 0 then
    width = math.max(width, own.width)
    first, last = math.min(now, own.oldest_live), math.max(now, own.newest)
    if now < own.newest then
      place = after(own, now)
    end
  end
  -- Clocks that disagree can stamp what one window never holds.
  while floor(last / 256 ^ width) - floor(first / 256 ^ width) >= depth_of(width) do
    width = width + 1
  end
  local range, depth = 256 ^ width, depth_of(width)
  local top = floor(last / range)
  local count = own.live + cost
  local numbers = { math.max(count, math.min(max, math.max(least_slots, math.ceil(count * 1.5)))), 0 }
  for i = 3, depth + 2 do
    numbers[i] = 0
  end
  local at = top - floor(now / range) + 3
  numbers[at] = cost

  -- The own entries from a place to before another one: each epoch is part of a
  -- longer one if they get wider, with the bytes in front that tell which part.
  local function moved(from, to)
    local groups = {}
    for i = own.depth - 1, 0, -1 do
      local low, high = bounds(own, i)
      low, high = math.max(from, low), math.min(to, high)
      if low < high then
        local epoch = floor((own.top - i) * own.range / range)
        at = top - epoch + 3
        numbers[at] = numbers[at] + high - low
        local group = entries(own, low, high - low)
        if width > own.width then
          local front = text((own.top - i) % (range / own.range), width - own.width)
          group = string.gsub(group, string.rep('.', own.width), string.gsub(front, '%%', '%%%%') .. '%0')
        end
        groups[#groups + 1] = group
      end
    end
    return table.concat(groups)
  end
  local units = times(text(now % range, width), cost)
  if own.live > 0 then
    units = moved(own.gone, place) .. units .. moved(place, own.count)
  end
  units = units .. times('\0', (numbers[1] - count) * width)
  call('SET', own.key, header_of(width, depth, top, first, last, numbers) .. units, 'PX', ttl())
end

local allowed = live + cost <= max
-- Redis serves nobody else meanwhile, and allows strings of 512 MiB.
if allowed and live + cost > 16777216 then
  return redis.error_reply('ERR a packed log holds at most 16777216 units')
end
if allowed then
  if cost > 0 then
    newest = math.max(newest, now)
    if not peek and (own.live == 0 or not charge_in_place()) then
      charge_anew()
    end
  end
  live = live + cost
elseif not peek and call('PTTL', own.key) == -1 then
  call('PEXPIRE', own.key, ttl())
end

-- The entry of both names together at this place, counted from the newest (1): how
-- many of the newest are of the first is found by halving.
local function instant_from_newest(place)
  if not also or also.live == 0 then
    return time_at(own, own.count - place)
  end
  local low, high = math.max(0, place - also.live), math.min(place, own.live)
  while low < high do
    local first = floor((low + high) / 2)
    if time_at(own, own.count - first - 1) > time_at(also, also.count - place + first) then
      low = first + 1
    else
      high = first
    end
  end
  local a = low > 0 and time_at(own, own.count - low) or math.huge
  local b = low < place and time_at(also, also.count - place + low) or math.huge
  return math.min(a, b)
end

local retry_after = 0
if cost > max then
  retry_after = -1
elseif not allowed then
  -- Room for cost appears when only max - cost entries are newer.
  retry_after = instant_from_newest(max - cost + 1) + window - now
end

local reset_after = 0
if live > 0 then
  reset_after = newest + window - now
end

return { allowed and 1 or 0, math.max(max - live, 0), retry_after, reset_after, now }
