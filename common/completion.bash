# bash completion for kube2sky, skydns and exechealthz; installed under each of these names. The flags are those
# that the program itself shows with -help, so that none is forgotten here. What is no flag and no choice is
# completed as a file name.

# The word under the cursor from its beginning: bash cuts -flag=value at the =, as it is in COMP_WORDBREAKS.
# Sets flag to the flag whose value is wanted, or to nothing, and word to what is there of it.
_kube2sky_skydns_word() {
	local previous=${COMP_WORDS[COMP_CWORD - 1]}
	word=${COMP_WORDS[COMP_CWORD]}
	flag=
	if [[ $word == = && $previous == -* ]]; then
		flag=$previous word=
	elif [[ $previous == = && COMP_CWORD -ge 2 ]]; then
		flag=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $word == -*=* ]]; then # a shell whose COMP_WORDBREAKS has no =
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
		# "  -schema=skydns|kubernetes": a choice is in small letters, VALUE or DURATION is none.
		choices=$(sed -n "s/^  -${flag//[^a-z0-9-]/}=\([a-z|]*\)\$/\1/p" <<<"$help")
		if [[ -n $choices ]]; then
			mapfile -t COMPREPLY < <(compgen -W "${choices//|/ }" -- "$word")
			return
		fi
		# A boolean has no value of its own: after `-verbose` and a blank, flags go on.
		grep -qE "^  -${flag//[^a-z0-9-]/}\$" <<<"$help" || return
	fi
	[[ $word == -* || -z $word ]] || return
	dashes=-
	[[ $word != --* ]] || dashes=--
	names=$(sed -n "s/^  -\([a-z0-9-]*=\{0,1\}\).*/$dashes\1/p" <<<"$help")
	mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
	# A value follows its = at once.
	[[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}

complete -o default -F _kube2sky_skydns kube2sky skydns exechealthz
