//go:build small

package control

// handlePrefixes answers whole: the small build has no dashboard.
func handlePrefixes(h *Handler, v View) { Handle(h, prefixesQuery, v.Prefixes) }
