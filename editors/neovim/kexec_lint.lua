-- kexec-lint in Neovim. Copy to lua/kexec_lint.lua and call require("kexec_lint").setup() in init.lua.
-- From Neovim 0.11 on it uses vim.lsp.config, before that it starts a client for each buffer.

local M = {}

M.filetypes = { "python", "c", "cpp", "cuda", "opencl", "yaml" }
M.root_markers = { "pyproject.toml", "kexec-lint.toml", ".git" }

local function root_of(file)
  local folder = vim.fn.fnamemodify(file, ":p:h")
  while folder ~= vim.fn.fnamemodify(folder, ":h") do
    for _, mark in ipairs(M.root_markers) do
      if vim.loop.fs_stat(folder .. "/" .. mark) then
        return folder
      end
    end
    folder = vim.fn.fnamemodify(folder, ":h")
  end
  return vim.fn.fnamemodify(file, ":p:h")
end

--- Start the server for these filetypes. `options.settings` are those of docs/editors, `options.cmd` the command.
function M.setup(options)
  options = options or {}
  local config = {
    name = "kexec_lint",
    cmd = options.cmd or { "kexec-lint", "server" },
    filetypes = options.filetypes or M.filetypes,
    root_markers = M.root_markers,
    init_options = options.settings,
    settings = { ["kexec-lint"] = options.settings or vim.empty_dict() },
  }
  if vim.lsp.config then
    vim.lsp.config("kexec_lint", config)
    vim.lsp.enable("kexec_lint")
    return
  end
  local clients = {} -- root folder → id of its client
  vim.api.nvim_create_autocmd("FileType", {
    pattern = config.filetypes,
    callback = function(event)
      local root = root_of(event.file)
      if not (clients[root] and vim.lsp.get_client_by_id(clients[root])) then
        local start = vim.tbl_extend("force", config, {
          root_dir = root,
          workspace_folders = { { name = root, uri = vim.uri_from_fname(root) } },
        })
        clients[root] = vim.lsp.start_client(start)
      end
      vim.lsp.buf_attach_client(event.buf, clients[root])
    end,
  })
end

return M
