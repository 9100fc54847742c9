# Export the classic regression data sets of robustbase, MASS and datasets, and fit lmrob (default
# and KS2014) and ltsReg to them: Rscript benchmarks/classic.R FOLDER. benchmarks/classic.py calls it.
#
# Files: FOLDER/<set>.csv has a label for each row, the target y and the inputs (factors as dummy
# columns, treatment contrasts); terms.csv the coefficients and standard errors; fits.csv the scale,
# the outliers (row numbers with |residual| / scale > 2.576, the 99% point of the Gaussian) and the
# CPU time in milliseconds.

suppressMessages(library(robustbase))

LIMIT <- qnorm(0.995)
CALLS <- 3

years <- function(year) 1900 + year

sets <- list(
  aircraft = list(Y ~ ., aircraft),
  airmay = list(Y ~ ., airmay),
  alcohol = list(logSolubility ~ ., alcohol),
  Animals2 = list(log(brain) ~ log(body), Animals2),
  biomassTill = list(log(Biomass) ~ log(DVS) + Tillage, biomassTill),
  bushfire = list(V5 ~ ., bushfire),
  cloud = list(CloudPoint ~ Percentage, cloud),
  coleman = list(Y ~ ., coleman),
  condroz = list(log(Ca) ~ pH, condroz),
  delivery = list(delTime ~ ., delivery),
  education = list(Y ~ X1 + X2 + X3, education),
  exAM = list(y ~ x, exAM),
  hbk = list(Y ~ ., hbk),
  heart = list(clength ~ ., heart),
  hills = list(time ~ ., MASS::hills),
  kootenay = list(Newgate ~ Libby, kootenay),
  lactic = list(Y ~ X, lactic),
  milk = list(X4 ~ ., milk),
  NOxEmissions = list(LNOx ~ LNOxEm + sqrtWS, NOxEmissions),
  pension = list(log(Reserves) ~ log(Income), pension),
  phones = list(calls ~ year, as.data.frame(MASS::phones), years(MASS::phones$year)),
  phosphor = list(plant ~ ., phosphor),
  pilot = list(Y ~ X, pilot),
  possumDiv = list(Diversity ~ ., possumDiv),
  pulpfiber = list(Y1 ~ X1 + X2 + X3 + X4, pulpfiber),
  salinity = list(Y ~ ., salinity),
  SiegelsEx = list(y ~ x, SiegelsEx),
  stackloss = list(stack.loss ~ ., stackloss),
  starsCYG = list(log.light ~ log.Te, starsCYG),
  steamUse = list(Steam ~ temperature + op.days, steamUse),
  telef = list(Calls ~ Year, telef, years(telef$Year)),
  toxicity = list(toxicity ~ ., toxicity),
  wagnerGrowth = list(y ~ PA + GPA + HS + GHS + Period, wagnerGrowth),
  wood = list(y ~ ., wood)
)

methods <- list(
  "lmrob" = function(d) lmrob(y ~ ., d),
  "lmrob KS2014" = function(d) lmrob(y ~ ., d, setting = "KS2014"),
  "ltsReg" = function(d) ltsReg(y ~ ., d)
)

design <- function(set) {
  frame <- model.frame(set[[1]], set[[2]], na.action = na.omit)
  X <- model.matrix(set[[1]], frame)[, -1, drop = FALSE]
  colnames(X) <- make.names(colnames(X), unique = TRUE)
  # Rows with missing values are left out; the others keep their numbers.
  label <- if (length(set) > 2) set[[3]] else rownames(frame)
  list(label = label, data = data.frame(y = model.response(frame), X))
}

standard_errors <- function(model) {
  if (inherits(model, "lts")) summary(model)$coefficients[, 2] else sqrt(diag(vcov(model)))
}

# The same seed for every call: all of them do the same work.
cpu_milliseconds <- function(fit, data) {
  spent <- function() { set.seed(1); sum(system.time(fit(data))[1:2]) }
  1000 * median(replicate(CALLS, spent()))
}

outliers <- function(model, data) {
  r <- data$y - as.vector(cbind(1, as.matrix(data[, -1])) %*% coef(model))
  # A scale of 0 is an exact fit: every row off it is an outlier.
  which(abs(r) > LIMIT * model$scale + 1e-9 * max(abs(data$y)))
}

quiet <- function(call) suppressWarnings(call)

fitted_rows <- function(set, method, data) {
  set.seed(1)
  model <- tryCatch(quiet(methods[[method]](data)), error = conditionMessage)
  if (is.character(model)) {
    return(list(fit = data.frame(set, method, scale = NA, milliseconds = NA, converged = FALSE,
                                 outliers = "", failure = model)))
  }
  terms <- names(coef(model))
  terms[grepl("ntercept", terms)] <- "intercept"
  error <- tryCatch(quiet(standard_errors(model)), error = function(e) NA)
  converged <- if (inherits(model, "lts")) TRUE else isTRUE(model$converged)
  fit <- data.frame(set, method, scale = model$scale,
                    milliseconds = quiet(cpu_milliseconds(methods[[method]], data)), converged,
                    outliers = paste(outliers(model, data), collapse = " "), failure = "")
  list(fit = fit, terms = data.frame(set, method, term = terms, coef = unname(coef(model)),
                                     error = unname(error)))
}

main <- function(folder) {
  dir.create(folder, showWarnings = FALSE, recursive = TRUE)
  fits <- list()
  for (set in names(sets)) {
    made <- design(sets[[set]])
    write.csv(cbind(label = made$label, made$data), file.path(folder, paste0(set, ".csv")),
              row.names = FALSE)
    fits <- c(fits, lapply(names(methods), fitted_rows, set = set, data = made$data))
  }
  write.csv(do.call(rbind, lapply(fits, `[[`, "fit")), file.path(folder, "fits.csv"),
            row.names = FALSE)
  write.csv(do.call(rbind, lapply(fits, `[[`, "terms")), file.path(folder, "terms.csv"),
            row.names = FALSE)
}

main(commandArgs(TRUE)[1])
