local here = vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))
local try = dofile(here .. "/neovim.lua")

try.run(function()
  for _, name in ipairs({ "plenary.nvim", "nui.nvim", "avante.nvim" }) do
    try.plugin(name)
  end
  vim.o.columns, vim.o.lines = 160, 50
  try.configure()
  vim.cmd("runtime! plugin/avante.lua")
  local file = try.open("a.txt")

  require("avante.api").ask({ new_chat = true })
  local sidebar
  try.await("the sidebar", function()
    sidebar = require("avante").get()
    return sidebar and sidebar:is_open()
  end)
  local function shown() return try.text(sidebar.containers.result.bufnr) end
  for _, prompt in ipairs({ { "Greet me.", "Hello from Strata." }, { "Edit the file.", "The file is edited." } }) do
    sidebar:handle_submit(prompt[1])
    try.await(prompt[2], function()
      if sidebar.permission_handler and shown():find("Allow once", 1, true) then
        table.insert(try.report.asked, shown())
        sidebar.permission_handler("allow_once")
      end
      return not sidebar.permission_handler and shown():find(prompt[2], 1, true)
    end)
  end

  try.await("the text of the file", function() return try.text(file):find("three") end)
  try.report.chat = shown()
  try.report.buffer = try.text(file)
end)
