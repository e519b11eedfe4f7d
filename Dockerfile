# A static binary and nothing else:
#   docker build -t emqctl . && docker run --rm emqctl decode-key 'emq:{quotes}:pending'
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /emqctl ./cmd/emqctl

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /emqctl /emqctl
USER 65534:65534
ENTRYPOINT ["/emqctl"]
