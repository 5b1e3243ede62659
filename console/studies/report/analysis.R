# Recompute the planned contrasts of a study in base R, with participants and tasks as random samples.
#
# This script is part of each report's folder and reads the CSV files in that folder. Run it there: Rscript analysis.R
# It compares its results with contrasts.csv to 1e-6. If the package lmerTest is installed, a linear mixed model with
# crossed random effects follows as a sensitivity analysis; a singular fit is named.

NEAR <- 1e-6

read_table <- function(name) {
  read.csv(name, na.strings = "", stringsAsFactors = FALSE, colClasses = c(participant = "character"))
}

is_true <- function(column) !is.na(column) & tolower(as.character(column)) %in% c("true", "1")

# The observations of a measure: one row per decision for `right`, else one row per task at the last trial.
answers <- function(measure, decisions, outcomes, success) {
  if (measure == "right") {
    own <- decisions[is.na(decisions$purpose) & !is.na(decisions$correct), ]
    own$value <- as.numeric(is_true(own$correct))
    return(own[, c("annotator_kind", "participant", "condition", "task_id", "value")])
  }
  closed <- outcomes[is_true(outcomes$closed), ]
  cell <- paste(closed$participant, closed$condition, sep = "\r")
  longest <- ave(closed$trial, cell, FUN = max)
  last <- closed[closed$trial == longest & longest == max(success$trial), ]
  last$value <- as.numeric(is_true(last$solved_paper))
  if (measure == "gain") {
    start <- outcomes[outcomes$trial == 0, ]
    key <- function(rows) paste(rows$participant, rows$condition, rows$task_id, sep = "\r")
    last$value <- last$value - as.numeric(is_true(start$solved_paper))[match(key(last), key(start))]
  }
  last[, c("annotator_kind", "participant", "condition", "task_id", "value")]
}

dummies <- function(codes) {
  codes <- as.integer(factor(codes))
  diag(max(codes))[codes, , drop = FALSE]
}

orthonormal <- function(x) {
  found <- svd(x)
  found$u[, found$d > found$d[1] * 1e-5, drop = FALSE]
}

# The residual sum of squares of y by person and task, and its degrees of freedom.
additive <- function(person, task, y) {
  basis <- orthonormal(cbind(dummies(person), dummies(task)))
  c(max(sum(y^2) - sum(crossprod(basis, y)^2), 0), length(y) - ncol(basis))
}

# The answers with the matrices that all contrasts share.
prepare <- function(rows) {
  rows <- rows[!is.na(rows$value), ]
  cells <- aggregate(value ~ participant + task_id + condition, rows, mean)
  within <- nrow(unique(cells[, c("participant", "condition")])) > length(unique(cells$participant))
  names <- sort(unique(cells$condition), method = "radix")
  condition <- match(cells$condition, names)
  x <- cbind(dummies(cells$task_id), diag(length(names))[condition, , drop = FALSE])
  if (within) x <- cbind(dummies(cells$participant), x)
  basis <- orthonormal(x)
  y <- cells$value
  list(
    person = as.integer(factor(cells$participant)), task = as.integer(factor(cells$task_id)), condition = condition,
    names = names, y = y, within = within, x = x, basis = basis, rest = drop(y - basis %*% crossprod(basis, y))
  )
}

# The variance over clusters (CR2, Bell and McCaffrey 2002), its degrees of freedom, each cluster's part, and whether one
# cluster alone decides part of the contrast.
spread <- function(of, loads, codes) {
  adjusted <- matrix(0, max(codes), length(loads))
  alone <- 0
  for (cluster in seq_len(max(codes))) {
    mine <- which(codes == cluster)
    found <- eigen(diag(length(mine)) - tcrossprod(of$basis[mine, , drop = FALSE]), symmetric = TRUE)
    scale <- ifelse(found$values > 1e-8, pmax(found$values, 1e-8)^-0.5, 0)
    along <- crossprod(found$vectors, loads[mine])
    adjusted[cluster, mine] <- found$vectors %*% (scale * along)
    alone <- max(alone, abs(along[found$values <= 1e-8]))
  }
  squares <- drop(adjusted %*% of$rest)^2
  products <- tcrossprod(adjusted - (adjusted %*% of$basis) %*% t(of$basis))
  total <- sum(products^2)
  list(variance = sum(squares), df = if (total > 1e-24) sum(diag(products))^2 / total else 1, squares = squares,
       alone = alone > 1e-4 * max(abs(loads)))
}

# The variance from single answers alone, and its degrees of freedom.
single <- function(of, loads, own, chosen) {
  left <- sapply(chosen, function(at) {
    here <- of$condition == at
    additive(of$person[here], of$task[here], of$y[here])
  })
  df <- sum(left[2, ])
  if (df < 5) {
    shares <- loads^2 / pmax(1 - rowSums(of$basis^2), 1e-3)
    return(c(sum(shares * of$rest^2), max(length(loads) - ncol(of$basis), 1)))
  }
  square <- sum(left[1, ]) / df
  if (of$within && length(chosen) > 1) {
    key <- paste(of$person, of$task)
    rows <- sapply(chosen, function(at) match(unique(key), ifelse(of$condition == at, key, NA)))
    rows <- rows[rowSums(is.na(rows)) == 0, , drop = FALSE]
    if (nrow(rows)) {
      pairs <- drop(matrix(of$y[rows], nrow(rows)) %*% own[chosen])
      found <- additive(of$person[rows[, 1]], of$task[rows[, 1]], pairs)
      if (found[2] >= 5) {
        load <- rowMeans(sweep(matrix(loads[rows], nrow(rows)), 2, own[chosen], "/"))
        others <- loads[-as.vector(rows)]
        return(c(found[1] / found[2] * sum(load^2) + square * sum(others^2), found[2]))
      }
    }
  }
  c(square * sum(loads^2), df)
}

# Whether the data support no claim over tasks.
refuses <- function(of, own, df_people) {
  side <- function(codes, of_sign) unique(codes[of$condition %in% which(sign(own) == of_sign)])
  tasks <- list(side(of$task, 1), side(of$task, -1))
  people <- list(side(of$person, 1), side(of$person, -1))
  if (!length(intersect(tasks[[1]], tasks[[2]])) || length(union(tasks[[1]], tasks[[2]])) < 8) return(TRUE)
  if (!of$within) {
    return(min(sapply(which(own != 0), function(at) length(unique(of$person[of$condition == at])))) < 6)
  }
  both <- length(intersect(people[[1]], people[[2]]))
  counts <- table(of$person, of$condition)
  whole <- both == 4 && length(union(people[[1]], people[[2]])) == 4 && all(counts == counts[1])
  (both < 5 && !whole) || df_people < 2
}

# Estimate, standard error and degrees of freedom of a contrast; NULL if the data support no claim over tasks.
contrast <- function(of, weights) {
  if (!all(names(weights)[weights != 0] %in% of$names)) return(NULL)
  own <- ifelse(of$names %in% names(weights), weights[of$names], 0)
  given <- c(rep(0, ncol(of$x) - length(own)), own)
  found <- svd(of$x)
  kept <- found$d > found$d[1] * 1e-5
  loads <- drop(found$u[, kept] %*% (crossprod(found$v[, kept], given) / found$d[kept]))
  if (max(abs(crossprod(of$x, loads) - given)) > 1e-6) return(NULL)
  chosen <- which(own != 0)
  people <- spread(of, loads, of$person)
  tasks <- spread(of, loads, of$task)
  if (!of$within && people$variance > 1e-24) {
    group <- of$condition[match(seq_len(max(of$person)), of$person)]
    parts <- tapply(people$squares, group, sum)
    people$df <- people$variance^2 / sum(parts^2 / pmax(table(group) - 1, 1))
  }
  if (refuses(of, own, people$df) || people$alone) return(NULL)
  error <- single(of, loads, own, chosen)
  variance <- people$variance + tasks$variance - error[1]
  df <- variance^2 / (people$variance^2 / people$df + tasks$variance^2 / tasks$df + error[1]^2 / error[2])
  if (variance < max(people$variance, tasks$variance)) {
    larger <- if (people$variance >= tasks$variance) people else tasks
    variance <- larger$variance
    df <- larger$df
  }
  if (variance <= 1e-20) return(NULL)
  # So skewed answers have a standard error that is raised by 8%.
  means <- abs(sapply(chosen, function(at) mean(of$y[of$condition == at])))
  factor <- if (any(means <= 0.1 | means >= 1 - 0.1)) 1.08 else 1
  list(estimate = sum(loads * of$y), error = sqrt(variance) * factor, df = df)
}

# The contrast of two conditions in a linear mixed model; its condition effect may differ by participant and by task.
sensitivity <- function(rows, weights) {
  compared <- weights[weights != 0]
  if (length(compared) != 2 || !requireNamespace("lmerTest", quietly = TRUE)) return(invisible())
  data <- rows[rows$condition %in% names(compared) & !is.na(rows$value), ]
  data$level <- as.numeric(data$condition == names(compared)[compared > 0])
  slopes <- any(tapply(data$level, data$participant, function(each) length(unique(each)) > 1))
  form <- if (slopes) value ~ level + (1 + level || participant) + (1 + level || task_id) else
    value ~ level + (1 | participant) + (1 + level || task_id)
  model <- tryCatch(suppressMessages(lmerTest::lmer(form, data)), error = function(failed) failed)
  if (inherits(model, "error")) {
    cat("  lmer failed:", conditionMessage(model), "\n")
    return(invisible())
  }
  found <- coef(summary(model, ddf = "Satterthwaite"))["level", ]
  note <- if (lme4::isSingular(model)) "; the fit is singular: a variance is estimated as 0" else ""
  cat(sprintf("  lmer: %+.4f, SE %.4f, df %.1f, p %.4f%s\n", found[1], found[2], found[3], found[5], note))
}

main <- function() {
  stated <- read.csv("contrasts.csv", na.strings = "", stringsAsFactors = FALSE)
  decisions <- read_table("decisions.csv")
  outcomes <- read_table("outcomes.csv")
  success <- read_table("success.csv")
  plan <- read.csv("plan.csv", na.strings = "", stringsAsFactors = FALSE)
  rules <- read_table("exclusions.csv")
  out <- rules$participant[is_true(rules$excluded)]
  kept <- function(rows) rows[!rows$participant %in% out, ]
  wrong <- compared <- 0
  for (measure in unique(plan$measure)) {
    given <- answers(measure, kept(decisions), kept(outcomes), kept(success))
    for (kind in intersect(c("human", "rule"), given$annotator_kind)) {
      rows <- given[given$annotator_kind == kind, ]
      of <- prepare(rows)
      here <- plan[plan$measure == measure, ]
      for (name in unique(here$contrast)) {
        part <- here[here$contrast == name, ]
        weights <- setNames(as.numeric(part$weight), part$condition)
        row <- stated[stated$measure == measure & stated$contrast == name & stated$annotator_kind == kind, ]
        found <- contrast(of, weights)
        claims <- identical(row$claim, "people and tasks") && !is.na(row$p)
        if (is.null(found) || !claims) {
          if (is.null(found) == claims) wrong <- wrong + 1
          cat(sprintf("%s, %s, %s: no claim over tasks\n", measure, name, kind))
          next
        }
        p <- 2 * pt(-abs(found$estimate) / found$error, found$df)
        apart <- max(abs(c(found$estimate - row$estimate, found$df - row$df, p - row$p)))
        compared <- compared + 1
        wrong <- wrong + (apart > NEAR)
        cat(sprintf("%s, %s, %s: %+.6f, SE %.6f, df %.2f, p %.6f: %s\n", measure, name, kind, found$estimate,
                    found$error, found$df, p, if (apart > NEAR) "DIFFERENT" else "same"))
        if (row$kind == "primary") sensitivity(rows, weights)
      }
    }
  }
  cat(sprintf("contrasts: %d compared, %d different at %g\n", compared, wrong, NEAR))
  quit(status = min(wrong, 1))
}

main()
