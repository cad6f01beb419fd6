"""An index as a retriever of other libraries. Each file needs its library; importing the package needs none."""
