// Package unwindv1 is generated from unwinder.proto, the plugin contract. Use
// package wire, which checks and converts these messages.
//
// To regenerate, install protoc (Debian: protobuf-compiler) and the two
// generators at the versions that the generated files name in their heads,
//
//	go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
//	go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
//
// and run go generate in this folder.
package unwindv1

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative unwinder.proto
