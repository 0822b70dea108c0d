local here = vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))
local try = dofile(here .. "/neovim.lua")

-- LuaJIT with the features of Lua 5.2, as in Debian's Neovim, returns the main coroutine too.
local running = coroutine.running
coroutine.running = function()
  local thread, main = running()
  if not main then return thread end
end

try.run(function()
  try.plugin("plenary.nvim")
  try.plugin("codecompanion.nvim")
  try.configure()
  vim.cmd("runtime! plugin/codecompanion.lua")
  local file = try.open("a.txt")

  vim.cmd("CodeCompanionChat adapter=strata")
  local chat = require("codecompanion").last_chat()
  try.await("a session", function() return chat.acp_connection and chat.acp_connection.session_id end)

  local function press(description)
    for _, key in ipairs(vim.api.nvim_buf_get_keymap(chat.bufnr, "n")) do
      if key.desc == description then return key.callback() end
    end
    error("no key for " .. description)
  end
  local finished = false
  vim.api.nvim_create_autocmd("User", { pattern = "CodeCompanionChatDone", callback = function() finished = true end })
  vim.api.nvim_create_autocmd("User", {
    pattern = "CodeCompanionToolApprovalRequested",
    callback = vim.schedule_wrap(function()
      table.insert(try.report.asked, try.text(chat.bufnr))
      press("Accept")
    end),
  })
  for _, prompt in ipairs({ "Greet me.", "Edit the file.", "\\context" }) do
    finished = false
    chat:add_buf_message({ role = "user", content = prompt })
    chat:submit()
    try.await("the end of the turn", function() return finished end)
  end

  try.await("the text of the file", function() return try.text(file):find("three") end)
  try.report.chat = try.text(chat.bufnr)
  try.report.buffer = try.text(file)
  try.report.title = chat.title

  local agent, replayed = chat.acp_connection, 0
  try.report.models = #agent:get_models().availableModels
  try.report.selected = agent:set_model("offline/digest") and agent:set_config_option("approval", "edits")
  try.report.sessions = agent:can_list_sessions() and #agent:session_list() or 0
  agent:load_session(agent.session_id, { on_session_update = function() replayed = replayed + 1 end })
  try.report.replayed = replayed
end)
