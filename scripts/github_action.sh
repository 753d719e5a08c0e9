#!/usr/bin/env bash
# The body of action.yml: installs kexec-lint beside everything else, checks, and says how it ended in `exit-code`.
set -euo pipefail

venv="${RUNNER_TEMP:-$(mktemp -d)}/kexec-lint"
if [ ! -x "$venv/bin/kexec-lint" ]; then
  python3 -m venv "$venv"
  if [ -n "${INPUT_VERSION:-}" ]; then what="kexec-lint==$INPUT_VERSION"; else what="$ACTION_PATH"; fi
  "$venv/bin/pip" install --quiet --disable-pip-version-check "$what"
fi

read -r -a paths <<<"${INPUT_PATHS:-.}"
read -r -a options <<<"${INPUT_ARGS:-}"
summary=$(mktemp)
[ "${INPUT_ANNOTATIONS:-true}" = true ] && options+=(--output-format github) || options+=(--output-format concise)
[ "${INPUT_SUMMARY:-true}" = true ] && options+=(--output-format "markdown:$summary")
[ -n "${INPUT_SARIF:-}" ] && options+=(--output-format "sarif:$INPUT_SARIF")

code=0
"$venv/bin/kexec-lint" check "${options[@]}" -- "${paths[@]}" || code=$?
echo "exit-code=$code" >>"${GITHUB_OUTPUT:-/dev/null}"
if [ -s "$summary" ]; then cat "$summary" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"; fi
rm -f "$summary"
if [ "$code" = 1 ] && [ "${INPUT_FAIL:-true}" != true ]; then code=0; fi
exit "$code"
