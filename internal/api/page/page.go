package page

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed files
var embedded embed.FS

// policy lets the page load its own files and ask its own server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page at / and its files below /page/. It may be called from any goroutine.
func Handler() http.Handler {
	files, err := fs.Sub(embedded, "files")
	if err != nil {
		panic(err) // the directory is part of the binary
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}",
		func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, "index.html") })
	mux.Handle("GET /page/", http.StripPrefix("/page/", http.FileServerFS(files)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		mux.ServeHTTP(w, r)
	})
}
