# Export the multivariate data sets of robustbase and rrcov, and fit PcaHubert (ROBPCA) and PcaGrid to
# them with two components: Rscript benchmarks/classic_pca.R FOLDER. benchmarks/classic_pca.py calls it.
#
# Files: FOLDER/<set>.csv has the columns; fits.csv for each set and method the two variances, the
# rows beyond either cut-off, and the median CPU time of three fits in milliseconds; loadings.csv the
# directions.

suppressMessages(library(rrcov))

CALLS <- 3

numbers <- function(d) { d <- as.data.frame(d); d <- d[sapply(d, is.numeric)]; d[complete.cases(d), ] }

sets <- list(hbk3 = hbk[, 1:3], hbk4 = hbk, wood5 = wood[, 1:5], wood = wood, milk = milk,
             pulpfiber = pulpfiber)
for (name in c("octane", "fish", "pottery", "diabetes", "bus", "olitos", "un86", "rice", "salmon",
               "Appalachia")) {
  data(list = name, package = "rrcov")
  sets[[name]] <- get(name)
}
sets <- lapply(sets, numbers)

methods <- list(PcaHubert = function(X) PcaHubert(X, k = 2), PcaGrid = function(X) PcaGrid(X, k = 2))

milliseconds <- function(fit, X) {
  spent <- function() { set.seed(1); sum(system.time(fit(X))[1:2]) }
  1000 * median(replicate(CALLS, spent()))
}

main <- function(folder) {
  dir.create(folder, showWarnings = FALSE, recursive = TRUE)
  fits <- data.frame(); loadings <- data.frame()
  for (set in names(sets)) {
    X <- as.matrix(sets[[set]])
    write.csv(X, file.path(folder, paste0(set, ".csv")), row.names = FALSE)
    for (method in names(methods)) {
      set.seed(1)
      fit <- methods[[method]](X)
      fits <- rbind(fits, data.frame(
        set, method, first = fit@eigenvalues[1], second = fit@eigenvalues[2],
        milliseconds = milliseconds(methods[[method]], X),
        outliers = paste(which(fit@od > fit@cutoff.od | fit@sd > fit@cutoff.sd), collapse = " ")))
      loadings <- rbind(loadings, data.frame(set, method, column = seq_len(ncol(X)),
                                             first = fit@loadings[, 1], second = fit@loadings[, 2]))
    }
  }
  write.csv(fits, file.path(folder, "fits.csv"), row.names = FALSE)
  write.csv(loadings, file.path(folder, "loadings.csv"), row.names = FALSE)
}

main(commandArgs(TRUE)[1])
