"""``python -m explorer`` is the command ``nonsmooth-explorer``."""

from explorer.app import main

raise SystemExit(main())
