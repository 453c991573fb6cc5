#compdef onnxkit
# Completion of onnxkit for zsh; `onnxkit completion zsh` prints this.
_onnxkit() {
  local -a lines candidates
  local kind line
  lines=("${(@f)$($words[1] complete -- "${(@)words[2,CURRENT]}" 2> /dev/null)}")
  kind=$lines[1]
  for line in "${(@)lines[2,-1]}"; do
    [[ -n $line ]] && candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  (( $#candidates )) && _describe -t words onnxkit candidates
  [[ $kind == files ]] && _files
  [[ $kind == folders ]] && _files -/
  return 0
}
if [[ $funcstack[1] == _onnxkit ]]; then _onnxkit "$@"; else compdef _onnxkit onnxkit; fi
