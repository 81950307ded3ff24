# Berth's image: one static binary and the licence texts, nothing else. There is no shell in it and no package of any
# distribution, so there is nothing to keep patched but Berth.
#
#   docker build -t berth .            or: make image IMAGE=registry.example.com/berth:0.1.0
#
# Both base images can be replaced, for builds behind a mirror or from scratch (`make image-test` makes its own):
#
#   BUILD_IMAGE    has Rust 1.95 or newer, a C compiler, and static glibc (Debian: libc6-dev) or musl
#   RUNTIME_IMAGE  what the binary is put into; it needs nothing of it
#   BERTH_COMMIT   the commit that `berth --version` names; .git is no part of the build context
#
# The binary is built for the machine that builds: on arm64, or with `--platform linux/arm64`, it is an arm64 binary.
ARG BUILD_IMAGE=rust:1.95-bookworm
ARG RUNTIME_IMAGE=scratch

FROM ${BUILD_IMAGE} AS build
WORKDIR /berth
COPY . .
ARG BERTH_COMMIT=unknown
ENV BERTH_COMMIT=${BERTH_COMMIT}
# With an explicit target the flag concerns Berth alone, not the procedural macros, which have to be shared libraries. glibc
# can look names up in /etc/hosts and DNS without shared libraries since 2.34, so kubeconfigs with host names work. Symbols stay, for backtraces.
RUN target=$(rustc -vV | sed -n 's/^host: //p') \
    && export CARGO_PROFILE_RELEASE_STRIP=debuginfo \
    && RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --bin berth --target "$target" \
    && mkdir /out && cp "target/$target/release/berth" /out/berth
RUN deploy/image/licences /out/licenses

FROM ${RUNTIME_IMAGE}
ARG BERTH_COMMIT=unknown
LABEL org.opencontainers.image.title="Berth" \
      org.opencontainers.image.description="A kube-scheduler extender" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${BERTH_COMMIT}"
COPY --from=build /out/berth /usr/local/bin/berth
COPY --from=build /out/licenses /licenses
# A number, because the kubelet cannot tell whether a name stands for root (runAsNonRoot).
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/berth"]
CMD ["serve"]
