-- Has nvim-dap debug the program, and writes what it shows into the file SHOWN.
local out = io.open(vim.env.SHOWN, 'w')
local function shows(step, what)
  out:write(step .. ': ' .. what .. '\n')
  out:flush()
end

local function until_(what, check)
  if not vim.wait(30000, check, 20) then
    io.stderr:write('waited in vain for ' .. what .. '\n')
    vim.cmd('cquit 1')
  end
end

for folder in vim.gsplit(vim.env.PLUGINS, ',') do
  vim.opt.rtp:append(folder)
end
vim.cmd('runtime plugin/dap.lua')
package.loaded['dap-go-ts'] = {} -- finds tests by tree-sitter, of which there is none
local dap = require('dap')
require('dap-go').setup({ delve = { path = vim.env.ADAPTER } })

local stops = 0
dap.listeners.before.event_stopped.test = function(session)
  stops = stops + 1
  session.current_frame = nil
end

local function position(stop)
  until_('stop ' .. stop, function()
    return stops >= stop and dap.session() and dap.session().current_frame
  end)
  local frame = dap.session().current_frame
  return vim.fn.fnamemodify(frame.source and frame.source.path or '?', ':t') .. ':' .. frame.line
end

vim.cmd('edit native.c')
vim.fn.cursor(9, 1)
dap.set_breakpoint()
local launch = vim.deepcopy(dap.configurations.go[1]) -- nvim-dap-go's
launch.mode, launch.program, launch.buildFlags = 'exec', vim.env.CLEW_TEST_PROGRAM, nil
dap.run(launch)
shows('breakpoint in C', position(1))

local session, names = dap.session(), {}
until_('the stack', function()
  local thread = session.threads[session.stopped_thread_id]
  return thread and thread.frames
end)
for _, frame in ipairs(session.threads[session.stopped_thread_id].frames) do
  table.insert(names, frame.name)
end
shows('stack', table.concat(names, ' '))

dap.step_out()
shows('step out of C', position(2))
dap.step_out()
shows('again, to Go', position(3))
dap.restart()
shows('restart', position(4))
dap.terminate()
until_('the end', function()
  return dap.session() == nil
end)
shows('terminate', 'ended')
vim.cmd('qa!')
