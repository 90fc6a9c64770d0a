//go:build !cgo

package main

func native(string) {}
