# Completion of onnxkit for fish; `onnxkit completion fish` prints this.
function __onnxkit_complete
    set -l words (commandline --tokenize --current-process --cut-at-cursor)
    set -l typed (commandline --current-token --cut-at-cursor)
    set -l lines ($words[1] complete -- $words[2..] "$typed" 2> /dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path "$typed"
        case folders
            __fish_complete_directories "$typed"
    end
    string join \n -- $lines[2..]
end
complete --command onnxkit --no-files --arguments '(__onnxkit_complete)'
