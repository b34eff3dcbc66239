# bash completion for kube2sky, skydns and exechealthz; installed under each of these names. The flags come from the
# program's own -help, so that none is forgotten here. Other words are completed as file names.

# Finds the whole word under the cursor: bash splits -flag=value at the =, which is in COMP_WORDBREAKS.
# Sets flag to the flag whose value is being typed, or to nothing, and word to the text so far.
_kube2sky_skydns_word() {
	local previous=${COMP_WORDS[COMP_CWORD - 1]}
	word=${COMP_WORDS[COMP_CWORD]}
	flag=
	if [[ $word == = && $previous == -* ]]; then
		flag=$previous word=
	elif [[ $previous == = && COMP_CWORD -ge 2 ]]; then
		flag=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $word == -*=* ]]; then # COMP_WORDBREAKS without =
		flag=${word%%=*} word=${word#*=}
	elif [[ $previous == -* && $previous != *=* ]]; then
		flag=$previous
	fi
}

_kube2sky_skydns() {
	local program=$1 flag word help dashes names choices
	COMPREPLY=()
	_kube2sky_skydns_word
	help=$("$program" -help 2>/dev/null </dev/null) || return
	if [[ -n $flag ]]; then
		flag=${flag#-} flag=${flag#-}
		# "  -schema=skydns|kubernetes": choices are in lower case; VALUE and DURATION are placeholders.
		choices=$(sed -n "s/^  -${flag//[^a-z0-9-]/}=\([a-z|]*\)\$/\1/p" <<<"$help")
		if [[ -n $choices ]]; then
			mapfile -t COMPREPLY < <(compgen -W "${choices//|/ }" -- "$word")
			return
		fi
		# A boolean takes no separate value: after `-verbose` and a blank, complete the next flag.
		grep -qE "^  -${flag//[^a-z0-9-]/}\$" <<<"$help" || return
	fi
	[[ $word == -* || -z $word ]] || return
	dashes=-
	[[ $word != --* ]] || dashes=--
	names=$(sed -n "s/^  -\([a-z0-9-]*=\{0,1\}\).*/$dashes\1/p" <<<"$help")
	mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
	# No blank after the = of a flag.
	[[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}

complete -o default -F _kube2sky_skydns kube2sky skydns exechealthz
