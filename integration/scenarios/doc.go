// Package scenarios runs the files of this folder, each of which is a test: a program, and what a terminal, an editor or the command
// line must show of it. How such a file is written: package integration/internal/scenario.
//
//	go test ./integration/scenarios -run TestScenarios/containers
package scenarios
