# Where the package bash-completion is not loaded, the words of the command line
# are put together here: bash splits them at : and =, and keys have colons.
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    __emqctl_init_completion()
    {
        local line=${COMP_LINE:0:COMP_POINT} i word gap last=
        words=()
        for ((i = 0; i <= COMP_CWORD; i++)); do
            word=${COMP_WORDS[i]}
            if ((i == COMP_CWORD)); then
                # What stands before the cursor is what is to be completed.
                gap=${line%%[![:space:]]*}
                word=${line:${#gap}}
            else
                gap=${line%%"$word"*}
            fi
            line=${line:${#gap}+${#word}}
            if [[ ${#words[@]} -gt 0 && -z $gap && ( $word == [:=]* || $last == *[:=] ) ]]; then
                words[${#words[@]} - 1]+=$word
            else
                words+=("$word")
            fi
            last=$word
        done
        cword=$((${#words[@]} - 1))
        cur=${words[cword]}
        prev=${words[cword > 0 ? cword - 1 : 0]}
    }
fi
