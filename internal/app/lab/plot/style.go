package plot

import _ "embed" // the style sheet

// Style has the rules and colours of all plots, for a page to include once.
//
//go:embed style.css
var Style string
