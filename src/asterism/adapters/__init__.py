"""An index where other libraries look for one. Each file needs its library, and nothing here imports them."""
