-- Open a file in a real Neovim, wait for its diagnostics, apply the code action that suppresses the first, and write
-- down what is on the screen at each step:
--
--   cd examples && nvim --clean --headless -u NONE -S ../editors/neovim/demo.lua upload.py
--
-- The command is `kexec-lint` on the path, or $KEXEC_LINT.

local here = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h")
package.path = here .. "/?.lua;" .. package.path
vim.o.columns, vim.o.lines = 110, 30
vim.o.swapfile, vim.o.shortmess = false, vim.o.shortmess .. "I"
require("kexec_lint").setup({ cmd = { vim.env.KEXEC_LINT or "kexec-lint", "server" } })

local function out(text)
  io.stdout:write(text .. "\n")
end

--- Everything on the screen as text, without what is empty at its end.
local function screen()
  vim.cmd("redraw!")
  local rows = {}
  for row = 1, vim.o.lines do
    local cells = {}
    for column = 1, vim.o.columns do
      cells[column] = vim.fn.screenstring(row, column)
    end
    rows[row] = (table.concat(cells):gsub("%s+$", ""))
  end
  out((table.concat(rows, "\n"):gsub("\n+$", "")))
end

local function wait(what, condition)
  if not vim.wait(60000, condition, 20) then
    out("no " .. what .. " within a minute")
    vim.cmd("cquit")
  end
end

vim.cmd("filetype on")
vim.cmd("doautocmd FileType python")
vim.o.number = true
wait("diagnostics", function()
  return #vim.diagnostic.get(0) > 0
end)
local first = vim.diagnostic.get(0)[1]
vim.api.nvim_win_set_cursor(0, { first.lnum + 1, first.col })
vim.cmd("normal! zz")
out("--- the diagnostic")
screen()
out("--- the diagnostic in a window (vim.diagnostic.open_float)")
vim.diagnostic.open_float({ source = "always", width = 100 })
screen()
vim.cmd("fclose!")

local client = vim.lsp.get_active_clients and vim.lsp.get_active_clients()[1] or vim.lsp.get_clients()[1]
local params = vim.lsp.util.make_range_params(0, client.offset_encoding)
params.context = { diagnostics = {} }
local answer = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 60000)[client.id].result
out("--- code actions")
local chosen
for number, action in ipairs(answer) do
  out(number .. ". " .. action.title)
  chosen = action.title:find("suppress") and action or chosen
end
vim.lsp.util.apply_workspace_edit(chosen.edit, client.offset_encoding)
wait("silence", function()
  return #vim.diagnostic.get(0) == 0
end)
out("--- after: " .. chosen.title)
screen()
vim.cmd("qall!")
