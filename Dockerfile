# Build: docker build -t berth .
FROM rust:1.95-bookworm AS build
WORKDIR /berth
COPY Cargo.toml Cargo.lock ./
COPY src src
RUN cargo build --release --locked

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /berth/target/release/berth /usr/local/bin/berth
COPY LICENSE /licenses/berth/LICENSE
ENTRYPOINT ["/usr/local/bin/berth"]
CMD ["serve"]
