/** A way to connect: a configuration and its place. A test compares docs/editors.md. */
export interface Way {
  id: string;
  name: string;
  /** The file or place for the code. */
  where: string;
  code: string;
  /** What else the user needs to know. Parts between backquotes are code. */
  note: string;
}

/** ways returns how editors connect to Strata with a program. */
export function ways(program: string): Way[] {
  const command = JSON.stringify(program);
  return [
    {
      id: "vscode", name: "VS Code", where: "terminal, in the folder of Strata’s sources",
      note: `Strata’s extension starts the server. Set \`strata.path\` to \`${program}\` if that is not on the search path.`,
      code: "make build vsix\ncode --install-extension bin/strata.vsix",
    },
    {
      id: "zed", name: "Zed", where: "~/.config/zed/settings.json", note: "Choose Strata in the new-thread menu of the Agent Panel.",
      code: `{\n  "agent_servers": {\n    "Strata": {"type": "custom", "command": ${command}, "args": ["stdio"], "env": {}}\n  }\n}`,
    },
    {
      id: "jetbrains", name: "JetBrains IDEs", where: "~/.jetbrains/acp.json", note: "AI Chat opens the file with `Add Custom Agent`. Strata is then one of its agents.",
      code: `{\n  "agent_servers": {\n    "Strata": {"command": ${command}, "args": ["stdio"], "env": {}}\n  }\n}`,
    },
    {
      id: "codecompanion", name: "Neovim, CodeCompanion", where: "init.lua", note: "`:CodeCompanionChat adapter=strata` opens a chat.",
      code: `require("codecompanion").setup({
  adapters = {
    acp = {
      strata = function()
        return require("codecompanion.adapters").extend("goose", {
          name = "strata",
          formatted_name = "Strata",
          commands = { default = { ${command}, "stdio" } },
          parameters = { clientCapabilities = { fs = { readTextFile = false, writeTextFile = false } } },
          handlers = { auth = function() return true end },
        })
      end,
    },
  },
})
vim.api.nvim_create_autocmd("User", {
  pattern = "CodeCompanionChatDone",
  callback = vim.schedule_wrap(function() vim.cmd.checktime() end),
})`,
    },
    {
      id: "avante", name: "Neovim, avante", where: "init.lua", note: "",
      code: `require("avante").setup({
  provider = "strata",
  behaviour = { auto_approve_tool_permissions = false },
  acp_providers = {
    ["strata"] = { command = ${command}, args = { "stdio" }, env = vim.fn.environ() },
  },
})`,
    },
    {
      id: "emacs", name: "Emacs, agent-shell", where: "init.el", note: "`M-x agent-shell` offers Strata.",
      code: `(with-eval-after-load 'agent-shell
  (add-to-list 'agent-shell-agent-configs
               (agent-shell-make-agent-config
                :identifier 'strata
                :mode-line-name "Strata"
                :buffer-name "Strata"
                :shell-prompt "Strata> "
                :shell-prompt-regexp "Strata> "
                :client-maker (lambda (buffer)
                                (agent-shell--make-acp-client
                                 :command ${command}
                                 :command-params '("stdio")
                                 :context-buffer buffer)))))`,
    },
    {
      id: "acp-client", name: "VS Code, ACP Client", where: "settings.json", note: "For the extension `formulahendry.acp-client`.",
      code: `{\n  "acp.agents": {\n    "Strata": {"command": ${command}, "args": ["stdio"], "env": {}}\n  }\n}`,
    },
    {
      id: "acp", name: "Any other ACP client", where: "command of the agent", note: "It speaks ACP on standard input and output, and starts the server if none is running.",
      code: `${/\s/.test(program) ? command : program} stdio`,
    },
  ];
}

/** socketWay returns how a plugin or a page connects to a server without a program. */
export function socketWay(address: string): Way {
  return {
    id: "websocket", name: "WebSocket", where: "plugins and web pages",
    note: "Programs can send the header `Authorization: Bearer TOKEN` instead of the second subprotocol. `strata token show` prints the token. A web page or webview also needs its origin in `origins` of `strata.yaml`.",
    code: `const socket = new WebSocket(${JSON.stringify(address)}, ["acp", "bearer." + token]);`,
  };
}
