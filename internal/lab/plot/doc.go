// Package plot draws small plots as SVG text: axes with sensible ticks, lines, steps,
// bands, intervals, distributions.
//
// It knows no congestion control and no colours: marks carry classes (c0 to c7, "band",
// "line"), and Style has the rules that a page includes once, for light and dark.
//
// Its trap: coordinates are rounded to a tenth of a pixel, so that the text is short
// and the same on each machine. What differs by less looks the same and is the same.
package plot
