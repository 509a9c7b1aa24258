# thresher for the processor alone, a static binary.
#
#     docker build -t thresher .
#     docker run --rm --read-only --user "$(id -u)" -v "$PWD:/data" thresher search --vectors A.npy --queries Q.npy --metric cosine --out answers.npz
#
# Each RUN is a script of docker/; docker/rehearse.py runs this file's steps
# without Docker, and CI runs that. Digests are those of the tags' multi-platform
# indexes, as in many public Dockerfiles; the images were not pulled in the rehearsal.

FROM golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY docker docker
RUN docker/modules.sh
COPY . .
RUN docker/build.sh cpu

FROM gcr.io/distroless/static-debian12:nonroot@sha256:afa5c872c891853ca7fcf1f12c3edb23f7eeef36189728842dd51042ff57f7ab
ARG REVISION=unknown
LABEL org.opencontainers.image.title="thresher" \
      org.opencontainers.image.description="The k largest inner products of many queries, by elimination" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}"
COPY LICENSE /usr/share/doc/thresher/
COPY --from=build /src/build/image/cpu/thresher /usr/bin/thresher
WORKDIR /data
USER 65532:65532
# Of serve: other commands end, or do not need one (--no-healthcheck). It reads the address from
# THRESHER_LISTEN, or the file that THRESHER_CONFIG names, as serve does.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10m CMD ["/usr/bin/thresher", "health"]
ENTRYPOINT ["/usr/bin/thresher"]
CMD ["help"]
