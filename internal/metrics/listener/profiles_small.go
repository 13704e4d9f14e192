//go:build small

package listener

import "net/http"

func profiles(*http.ServeMux) {} // half a megabyte
