#!/usr/bin/env bash
# Opens a file in a real Neovim under tmux and writes down the screen: the diagnostic, its window, the code actions, and
# the file after the one that suppresses. Needs nvim, tmux and kexec-lint[lsp] (on the path, or $KEXEC_LINT).
#
#   editors/neovim/screenshot.sh examples/upload.py
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
name=kexec-lint-$$
trap 'tmux -L "$name" kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
cp "$1" "$work/"
mkdir "$work/.git" # the top of a project

screen() { tmux -L "$name" capture-pane -p -t demo; }
await() { # pattern that the screen must show within a minute
  for _ in $(seq 300); do
    if screen | grep -q -- "$1"; then return; fi
    sleep 0.2
  done
  screen >&2
  echo "screenshot.sh: the screen never showed: $1" >&2
  exit 1
}
keys() { tmux -L "$name" send-keys -t demo "$@"; }
show() { printf -- '--- %s\n' "$1"; screen | sed -e 's/ *$//' -e '/^~$/d'; }

tmux -L "$name" -f /dev/null new-session -d -s demo -x 150 -y 34 -c "$work" \
  "TERM=xterm-256color nvim --clean -u NONE -S '$here/demo.lua' '$(basename "$1")'"
await '■'
show "the diagnostic"
keys ':lua vim.diagnostic.open_float({ source = "always" })' Enter
await 'help: '
show "vim.diagnostic.open_float()"
keys ':lua vim.lsp.buf.code_action()' Enter
await 'suppress here'
show "vim.lsp.buf.code_action()"
keys "$(screen | sed -n 's/^ *\([0-9]*\)[:.].*suppress here.*/\1/p' | head -n 1)" Enter
await 'kexec: ignore'
sleep 1
show "after the action that suppresses"
