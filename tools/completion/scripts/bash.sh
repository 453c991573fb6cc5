# Completion of onnxkit for bash; `onnxkit completion bash` prints this.
_onnxkit() {
  local line=${COMP_LINE:0:COMP_POINT} words candidates kind word split
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  word=${words[-1]}
  mapfile -t candidates < <("${words[0]}" complete -- "${words[@]:1}" 2> /dev/null)
  kind=${candidates[0]}
  candidates=("${candidates[@]:1}")
  candidates=("${candidates[@]%%$'\t'*}")
  # bash completes behind the last = or : of a word.
  split=${word%"${word##*[=:]}"}
  COMPREPLY=("${candidates[@]#"$split"}")
  [[ $kind == files ]] && compopt -o default
  [[ $kind == folders ]] && compopt -o dirnames
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
  return 0
}
complete -F _onnxkit onnxkit
