-- Shows kexec-lint in a real Neovim: goes to the first diagnostic as soon as there is one. Driven by screenshot.sh.

local here = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h")
package.path = here .. "/?.lua;" .. package.path
vim.o.swapfile = false
vim.o.number = true
vim.cmd("filetype on | syntax on")
require("kexec_lint").setup({ cmd = { vim.env.KEXEC_LINT or "kexec-lint", "server" } })
vim.cmd("doautocmd FileType python")

vim.api.nvim_create_autocmd("DiagnosticChanged", {
  once = true,
  callback = function()
    local first = vim.diagnostic.get(0)[1]
    vim.api.nvim_win_set_cursor(0, { first.lnum + 1, first.col })
    vim.cmd("normal! zz")
  end,
})
