-- What the tries in Neovim share. The environment names the plugins' folder, the configuration and the report.
local M = { report = { asked = {} } }

function M.plugin(name) vim.opt.rtp:prepend(vim.env.TRY_PLUGINS .. "/" .. name) end

-- configure runs a block of docs/editors.md.
function M.configure() dofile(vim.env.TRY_CONFIG) end

-- open returns the buffer of a file.
function M.open(path)
  vim.cmd.edit(path)
  return vim.api.nvim_get_current_buf()
end

-- await processes events until met returns a value.
function M.await(what, met)
  if not vim.wait(30000, met, 20) then error("timeout: " .. what) end
end

function M.text(buffer) return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n") end

-- run runs a try and writes its report, with its error if it fails.
function M.run(try)
  local ok, problem = xpcall(try, debug.traceback)
  if not ok then M.report.error = problem end
  vim.fn.writefile({ vim.json.encode(M.report) }, vim.env.TRY_REPORT)
  vim.cmd("qa!")
end

return M
