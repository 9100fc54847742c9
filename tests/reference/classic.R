# Writes the classic data sets and lmrob's coefficients on them. Run in this folder:
#   Rscript classic.R
# The data are public and come with R (stackloss), MASS (phones) and robustbase (the others).
suppressMessages({library(robustbase); library(MASS)})
data(hbk); data(starsCYG); data(stackloss); data(phones)
sets <- list(
  stackloss = stackloss[, c("Air.Flow", "Water.Temp", "Acid.Conc.", "stack.loss")],
  stars = starsCYG[, c("log.Te", "log.light")],
  hbk = hbk[, c("X1", "X2", "X3", "Y")],
  phones = data.frame(year = phones$year, calls = phones$calls)
)
rows <- data.frame()
for (name in names(sets)) {
  d <- sets[[name]]
  write.csv(d, paste0(name, ".csv"), row.names = FALSE, quote = FALSE)
  names(d)[ncol(d)] <- "y"
  set.seed(1)
  fit <- lmrob(y ~ ., data = d)
  se <- summary(fit)$coefficients[, 2]
  rows <- rbind(rows, data.frame(
    data = name, term = c("intercept", names(sets[[name]])[-ncol(d)]),
    coef = signif(coef(fit), 8), se = signif(se, 8), scale = signif(fit$scale, 8)))
}
write.csv(rows, "lmrob.csv", row.names = FALSE, quote = FALSE)
cat(R.version.string, "robustbase", as.character(packageVersion("robustbase")), "\n")
