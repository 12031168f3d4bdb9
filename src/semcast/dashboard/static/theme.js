// Before the first paint: the theme that was chosen here last, if one was.
"use strict";
try {
  const chosen = localStorage.getItem("semcast-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch { /* storage may be forbidden; then the system decides */ }
