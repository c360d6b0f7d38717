-- Argo CD health of every kind of the group seawall.dev, from its kstatus conditions.
-- Lua 5.1 without the string and math libraries, as Argo CD runs it.
local function health(status, message)
  return {status = status, message = message}
end

if obj.metadata.deletionTimestamp ~= nil then
  return health("Progressing", "Being deleted")
end

local status = obj.status or {}
local generation = obj.metadata.generation or 0
if status.conditions == nil or status.observedGeneration == nil or status.observedGeneration < generation then
  return health("Progressing", "Waiting for the operator to look at this generation")
end

local conditions = {}
for _, condition in ipairs(status.conditions) do
  conditions[condition.type] = condition
end
local function is_true(kind)
  return conditions[kind] ~= nil and conditions[kind].status == "True"
end

if is_true("Stalled") then
  return health("Degraded", conditions.Stalled.message)
end
local ready = conditions.Ready
if ready ~= nil and ready.status ~= "True" and ready.reason == "Paused" then
  return health("Suspended", ready.message)
end
if is_true("Reconciling") then
  return health("Progressing", conditions.Reconciling.message)
end
if is_true("Ready") then
  return health("Healthy", ready.message)
end
return health("Progressing", ready ~= nil and ready.message or "Waiting for the condition Ready")
