package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"io"
	"log"
	"text/template"
)

// Goroutines that wait deep in the standard library, for a reader that never comes.

type blocked struct{ never chan int }

func (b blocked) Write([]byte) (int, error) {
	<-b.never
	return 0, io.EOF
}

func (b blocked) Read([]byte) (int, error) {
	<-b.never
	return 0, io.EOF
}

type record struct {
	Name string
	Next *record
}

func main() {
	b := blocked{make(chan int)}
	r := record{"a", &record{"b", nil}}
	page := template.Must(template.New("page").Parse(`{{range .}}{{.}}{{end}}`))
	for i := 0; i < 6; i++ {
		go func() { _ = json.NewEncoder(b).Encode(r) }()
		go func() { _ = json.NewDecoder(b).Decode(&r) }()
		go func() { _ = xml.NewEncoder(b).Encode(r) }()
		go func() { _ = page.Execute(b, []int{1, 2}) }()
		go func() {
			z := gzip.NewWriter(b)
			_, _ = tar.NewWriter(z).Write([]byte("x"))
			_ = z.Close()
		}()
		go log.New(b, "", 0).Print("x")
	}
	report()
}
