from unrolled.commands.evaluate import main

if __name__ == "__main__":
    main()
